/**
 * Tells the headers by which a gateway speaks to the site behind it, `X-<ID header>-…`, whoever sent them. Letter case
 * does not matter, nor what stands for a hyphen: servers fold `X_ServiceID_Verified` and `X.ServiceID.Verified` to the same
 * (RFC 3875 section 4.1.18; RFC 9110 section 5.1).
 */
export function identityHeaderTest(idHeader: string): (name: string) => boolean {
  const prefix = `x-${idHeader.toLowerCase()}-`
  const codes = Uint8Array.from(prefix, (each) => each.charCodeAt(0))
  return (name) => {
    if (name.length < codes.length) return false
    for (let i = 0; i < codes.length; i++) {
      if (folded(name.charCodeAt(i)) !== codes[i]) return false
    }
    return true
  }
}

const HYPHEN = 45

/** Letters as lower case, digits as they are, everything else as a hyphen. */
function folded(code: number): number {
  if (code >= 97 && code <= 122) return code
  if (code >= 65 && code <= 90) return code + 32
  return code >= 48 && code <= 57 ? code : HYPHEN
}
