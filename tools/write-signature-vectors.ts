import { writeFileSync } from 'node:fs'
import { CHANGED } from './signature-vectors/changed.ts'
import { MALFORMED } from './signature-vectors/malformed.ts'
import { RECEIVED_ELSEWHERE } from './signature-vectors/received-elsewhere.ts'
import { REFUSED } from './signature-vectors/refused.ts'
import { ISSUER, keys, NOW, SHOP } from './signature-vectors/signing.ts'
import { VALID } from './signature-vectors/valid.ts'

// npx node tools/write-signature-vectors.ts: writes vectors/http-signatures.json. It builds every signature base itself, line by line,
// and signs with OpenSSL, so that the vectors do not depend on the code that they test.

const vectors = {
  shortName: 'svc',
  idHeader: 'ServiceID',
  now: NOW * 1000,
  audiences: [SHOP],
  issuer: ISSUER,
  keys,
  valid: VALID,
  invalid: [...RECEIVED_ELSEWHERE, ...CHANGED, ...MALFORMED, ...REFUSED],
}
writeFileSync(
  `${import.meta.dirname}/../vectors/http-signatures.json`,
  `${JSON.stringify(vectors, null, 2)}\n`,
)
