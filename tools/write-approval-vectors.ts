import { writeFileSync } from 'node:fs'
import { vectors } from './approval-vectors/vectors.ts'

/** The file is ASCII, like every file of vectors. */
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

// npx node tools/write-approval-vectors.ts: writes vectors/approvals.json.
writeFileSync(
  `${import.meta.dirname}/../vectors/approvals.json`,
  `${JSON.stringify(vectors, null, 2).replaceAll(/[\u007f-\uffff]/g, escaped)}\n`,
)
