/** Which other signed text a challenge could be. */
export type ForeignText = 'claim' | 'token' | 'request' | 'key-operation'

/** A text that must not be signed as a challenge: what it could be, and why in a sentence for people. */
export interface ForeignTextFound {
  readonly kind: ForeignText
  readonly message: string
}

/**
 * A signer that answers any challenge signs for every protocol whose signed bytes can be chosen as a challenge. Short names
 * are those of any deployment, because an agent can use one key at several; in any case, because others may be laxer.
 */
const FOREIGN_TEXTS: readonly (ForeignTextFound & { readonly pattern: RegExp })[] = [
  {
    kind: 'claim',
    pattern: /^[a-z][a-z0-9]{0,15}-verify-[0-9a-f]{32}\|/i,
    message:
      'This is not a challenge but a claim: a signature on it would give the key to the owner who issued the token.',
  },
  {
    // RFC 7515 section 5.1: the header begins with `{"`, which is `eyJ` in base64url.
    kind: 'token',
    pattern: /^eyJ[A-Za-z0-9_-]*\./,
    message:
      'This is not a challenge but the signing input of a JWS (RFC 7515): a signature on it would make it a valid token.',
  },
  {
    // RFC 9421 section 2.5: every signature base ends in this line.
    kind: 'request',
    pattern: /"@signature-params":/,
    message:
      'This is not a challenge but a signature base (RFC 9421): a signature on it would sign an HTTP request.',
  },
  {
    kind: 'key-operation',
    pattern: /^[a-z][a-z0-9]{0,15}-(?:rotate|recover)-/i,
    message:
      'This is not a challenge but an operation on a key: a signature on it could replace the key of an agent.',
  },
]

/**
 * Whether a challenge could be signed bytes of another purpose: a claim (contract 4.4), a JWS signing input (RFC 7515), a
 * signature base (RFC 9421), or an operation on a key. Signers must not sign such a text, and verifiers must not accept it.
 * @returns null if it can be signed as a challenge
 */
export function foreignTextIn(challenge: string): ForeignTextFound | null {
  const found = FOREIGN_TEXTS.find(({ pattern }) => pattern.test(challenge))
  return found === undefined ? null : { kind: found.kind, message: found.message }
}
