import { CHANGED } from './changed.ts'
import { DIRECTORY_INVALID, DIRECTORY_VALID } from './directories.ts'
import { MALFORMED } from './malformed.ts'
import { PUBLISHED_INVALID, PUBLISHED_VALID, SIGNATURE_AGENTS, SOURCE } from './published.ts'
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
  publishedSource: SOURCE,
  signatureAgents: SIGNATURE_AGENTS,
  valid: [...VALID, ...DIRECTORY_VALID, ...PUBLISHED_VALID],
  invalid: [
    ...RECEIVED_ELSEWHERE,
    ...CHANGED,
    ...MALFORMED,
    ...REFUSED,
    ...DIRECTORY_INVALID,
    ...PUBLISHED_INVALID,
  ],
}
