/**
 * Matches the headers that a gateway sets for the site behind it, `X-<ID header>-…`. Ignores letter case and which
 * character is in place of a hyphen, because servers map `X_ServiceID_Verified` and `X.ServiceID.Verified` to the same
 * variable (RFC 3875 section 4.1.18; RFC 9110 section 5.1).
 */
export function identityHeaderMatcher(idHeader: string): (name: string) => boolean {
  const prefix = `x-${idHeader.toLowerCase()}-`
  const codes = Uint8Array.from(prefix, (each) => each.charCodeAt(0))
  return (name) => {
    if (name.length < codes.length) return false
    for (let i = 0; i < codes.length; i++) {
      if (normalizeCharCode(name.charCodeAt(i)) !== codes[i]) return false
    }
    return true
  }
}

const HYPHEN = 45

/** Lowers letters, keeps digits, and maps every other character to a hyphen. */
function normalizeCharCode(code: number): number {
  if (code >= 97 && code <= 122) return code
  if (code >= 65 && code <= 90) return code + 32
  return code >= 48 && code <= 57 ? code : HYPHEN
}
