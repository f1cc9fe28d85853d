import { writeFileSync } from 'node:fs'
import { vectors } from './delegation-vectors/vectors.ts'

// npx node tools/write-delegation-vectors.ts: writes vectors/delegation.json.
writeFileSync(
  `${import.meta.dirname}/../vectors/delegation.json`,
  `${JSON.stringify(vectors, null, 2)}\n`,
)
