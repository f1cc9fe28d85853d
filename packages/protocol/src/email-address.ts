const LOCAL = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$`)

/**
 * Whether a text is an e-mail address as forms of the web accept it (HTML, section 4.10.5.1.5), with a domain of several
 * labels. ASCII only, without white space, quotes and comments, so that nothing in it can begin another header or address.
 */
export function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1 || text.length > 254) return false
  return LOCAL.test(text.slice(0, at)) && DOMAIN.test(text.slice(at + 1))
}
