import { CHANGED } from './changed.ts'
import { MALFORMED } from './malformed.ts'
import { RECEIVED_ELSEWHERE } from './received-elsewhere.ts'
import { REFUSED } from './refused.ts'
import { ISSUER, keys, NOW, SHOP } from './signing.ts'
import { VALID } from './valid.ts'

/**
 * The content of vectors/http-signatures.json. Every signature base is built here, line by line, and signed with OpenSSL, so that the
 * vectors do not depend on the code that they test.
 */
export const vectors = {
  shortName: 'svc',
  idHeader: 'ServiceID',
  now: NOW * 1000,
  audiences: [SHOP],
  issuer: ISSUER,
  keys,
  valid: VALID,
  invalid: [...RECEIVED_ELSEWHERE, ...CHANGED, ...MALFORMED, ...REFUSED],
}
