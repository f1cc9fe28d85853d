import { writeFileSync } from 'node:fs'
import { vectors } from './session-vectors/vectors.ts'

// npx node tools/write-session-vectors.ts: writes vectors/sessions.json.
writeFileSync(
  `${import.meta.dirname}/../vectors/sessions.json`,
  `${JSON.stringify(vectors, null, 2)}\n`,
)
