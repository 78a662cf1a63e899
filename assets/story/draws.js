// The draws that tools/story_draws.py packed, as arrays by name.

// Unpack a gzipped blob: length of a JSON text, that text, and arrays whose bytes are sorted by their place in a number.
export async function unpackedDraws(blob) {
  const stream = blob.stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const draws = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const kinds = { float32: Float32Array, uint16: Uint16Array, int16: Int16Array };
  let from = 4 + length;
  const arrays = Object.fromEntries(draws.arrays.map(([name, kind, size]) => {
    const width = kinds[kind].BYTES_PER_ELEMENT, plain = new Uint8Array(size * width);
    for (let i = 0; i < size; i++) {
      for (let byte = 0; byte < width; byte++) plain[i * width + byte] = bytes[from + byte * size + i];
    }
    from += size * width;
    return [name, new kinds[kind](plain.buffer)];
  }));
  draws.rho = Object.fromEntries(draws.sizes.map((n) => [n, arrays[`rho ${n}`]]));
  draws.other = Float64Array.from(draws.rho[draws.shown], (rho, t) => rho + draws.step * arrays.moved[t]);
  draws.theta = inFives(arrays.theta, 65535);
  draws.simulated = inFives(arrays.simulated, draws.shown);
  return draws;
}

// Rows of five shares, of which four are given as whole parts of one.
function inFives(four, one) {
  const five = new Float64Array((four.length / 4) * 5);
  for (let row = 0; row < four.length / 4; row++) {
    let rest = 1;
    for (let i = 0; i < 4; i++) rest -= five[5 * row + i] = four[4 * row + i] / one;
    five[5 * row + 4] = rest;
  }
  return five;
}
