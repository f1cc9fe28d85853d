/** The logo as a picture of its own, for browsers' tabs: on light and dark grounds alike. */
export const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke-linecap="round">' +
  '<circle cx="16" cy="16" r="15" fill="#fff" stroke="#1b1f19" stroke-width="1.6"/>' +
  '<path d="m8.6 16.4 5 5.2" stroke="#1b1f19" stroke-width="3.6"/>' +
  '<path d="M13.6 21.6 24 10.6" stroke="#0b5d4b" stroke-width="3.6"/></svg>'
