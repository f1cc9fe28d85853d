const UNSAFE = /[<>&\u2028\u2029]/g

/** JSON that can stand in a `<script>`: nothing in it ends the element, begins a comment or breaks a line. */
export function scriptSafeJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
