// numpy's Laplace noise, number for number: SeedSequence and SFC64 as abcdp_core/base/streams.py asks for
// them.
// 64-bit numbers are pairs of 32-bit halves, low before high.

export function crc32(text) {
  let crc = ~0;
  for (const letter of text) {
    crc ^= letter.charCodeAt(0);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

// State of numpy's SeedSequence(seed, spawn_key=key): six words, for a seed and a key of 32 bits each.
export function seedWords(seed, key) {
  const entropy = [seed, 0, 0, 0, ...key], pool = [];
  let factor = 0x43b0d7e5;
  const hashed = (value, times) => {
    let mixed = value ^ factor;
    factor = Math.imul(factor, times);
    mixed = Math.imul(mixed, factor);
    return mixed ^ (mixed >>> 16);
  };
  const joined = (x, y) => {
    const mixed = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
    return mixed ^ (mixed >>> 16);
  };
  for (let i = 0; i < 4; i++) pool[i] = hashed(entropy[i], 0x931e8875);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from !== to) pool[to] = joined(pool[to], hashed(pool[from], 0x931e8875));
    }
  }
  for (let from = 4; from < entropy.length; from++) {
    for (let to = 0; to < 4; to++) pool[to] = joined(pool[to], hashed(entropy[from], 0x931e8875));
  }
  factor = 0x8b51f9dd;
  return Array.from({ length: 6 }, (_, i) => hashed(pool[i % 4], 0x58f38ded) >>> 0);
}

// Laplace numbers of scale 1 (size,): the noise of one release, for all distances and then thresholds.
export function laplace(seed, number, size) {
  const next = sfc64(seedWords(seed, [crc32("noise"), 0, number]));
  const found = new Float64Array(size);
  for (let i = 0; i < size; i++) {
    let uniform = next();
    while (uniform === 0) uniform = next();
    found[i] = uniform >= 0.5 ? -Math.log(2 - uniform - uniform) : Math.log(uniform + uniform);
  }
  return found;
}

// Uniform numbers in [0, 1) of 53 bits.
export function sfc64(words) {
  let [a0, a1, b0, b1, c0, c1] = words, count = 1;
  const next = () => {
    // a + b + count, then the three numbers change.
    const low = (a0 >>> 0) + (b0 >>> 0) + count;
    const t0 = low | 0, t1 = (a1 + b1 + Math.floor(low / 0x100000000)) | 0;
    count++;
    a0 = b0 ^ ((b0 >>> 11) | (b1 << 21));
    a1 = b1 ^ (b1 >>> 11);
    const sum = (c0 >>> 0) + ((c0 << 3) >>> 0);
    b1 = (c1 + ((c1 << 3) | (c0 >>> 29)) + (sum > 0xffffffff)) | 0;
    b0 = sum | 0;
    const turned = ((c0 << 24) | (c1 >>> 8)) >>> 0, added = turned + (t0 >>> 0);
    c1 = (((c1 << 24) | (c0 >>> 8)) + t1 + (added > 0xffffffff)) | 0;
    c0 = added | 0;
    return (t1 >>> 0) * 0x200000 + (t0 >>> 11);
  };
  for (let i = 0; i < 12; i++) next();
  return () => next() / 0x20000000000000;
}
