// Back leads to the page before, as it was left; ui/index_page.py puts this into Streamlit's page.
//
// Streamlit makes an entry in the browser's history whenever the program moves a knob, and several
// on the way to another page, with the old page's path and an address that is half emptied.
{
  let left = location.href; // when something was last pressed
  let gone = false; // back or forward, since then
  const note = () => {
    left = location.href;
    gone = false;
  };
  addEventListener("popstate", () => {
    gone = true;
  });
  addEventListener("click", note, true);
  addEventListener("keydown", note, true);
  const push = history.pushState;
  history.pushState = (state, title, url) => {
    const to = new URL(url, location.href);
    if (to.pathname === location.pathname) {
      history.replaceState(state, title, url);
      return;
    }
    // What is drawn now was passed over, and comes late.
    if (gone) return;
    if (new URL(left).pathname === location.pathname) history.replaceState({}, "", left);
    push.call(history, state, title, url);
    left = location.href;
  };
}
