import { writeFileSync } from 'node:fs'
import { vectors } from '../packages/sdk/test/certificates/support/certificate-vectors.ts'

// npx node tools/write-certificate-vectors.ts: writes vectors/certificates.json.
writeFileSync(
  `${import.meta.dirname}/../vectors/certificates.json`,
  `${JSON.stringify(vectors, null, 2)}\n`,
)
