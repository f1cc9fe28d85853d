/** A comma-separated element of a list; commas in quoted strings do not separate. */
const ELEMENT = /(?:[^",]|"(?:[^"\\]|\\.)*")+/g
const ONLY_ELEMENTS = /^(?:[^"]|"(?:[^"\\]|\\.)*")*$/
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const PARAMETER = `(${TOKEN})[ \\t]*=[ \\t]*(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")`
const CHALLENGE = new RegExp(`^[ \\t]*(?:(${TOKEN})(?:[ \\t]+|$))?(?:${PARAMETER})?[ \\t]*$`)
/** `Basic dXNlcjpwYXNz`: a scheme with what is no parameter. */
const SCHEME = new RegExp(`^[ \\t]*(${TOKEN})[ \\t]`)
const MAX_LENGTH = 8192

/**
 * The sign-in endpoint that a 401 response names, such as `WWW-Authenticate: ServiceID sign_in="/agent-sign-in"` (RFC 9110
 * section 11.6.1; docs/sessions.md).
 * @param scheme the identification header of the deployment
 * @returns null if there is none, more than one, or one at another origin than the request: the agent would sign in there
 */
export function signInUrlOf(response: Response, requestUrl: string, scheme: string): URL | null {
  const field = response.headers.get('www-authenticate') ?? ''
  if (response.status !== 401 || field.length > MAX_LENGTH || !ONLY_ELEMENTS.test(field))
    return null
  const [reference, ...more] = signInParameters(field, scheme.toLowerCase())
  if (reference === undefined || more.length > 0) return null
  if (!URL.canParse(reference, requestUrl)) return null
  const url = new URL(reference, requestUrl)
  const isSameSite = url.origin === new URL(requestUrl).origin
  return isSameSite && url.username === '' && url.password === '' ? url : null
}

function signInParameters(field: string, scheme: string): string[] {
  const found: string[] = []
  let current = ''
  for (const [element] of field.matchAll(ELEMENT)) {
    const challenge = CHALLENGE.exec(element)
    const [, named, name, token, quoted] = challenge ?? SCHEME.exec(element) ?? []
    if (named !== undefined) current = named.toLowerCase()
    else if (challenge === null) current = ''
    if (current !== scheme || name?.toLowerCase() !== 'sign_in') continue
    found.push(token ?? (quoted ?? '').replace(/\\(.)/g, '$1'))
  }
  return found
}
