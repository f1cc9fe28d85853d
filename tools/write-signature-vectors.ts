import { writeFileSync } from 'node:fs'
import { vectors } from './signature-vectors/vectors.ts'

// npx node tools/write-signature-vectors.ts: writes vectors/http-signatures.json.
writeFileSync(
  `${import.meta.dirname}/../vectors/http-signatures.json`,
  `${JSON.stringify(vectors, null, 2)}\n`,
)
