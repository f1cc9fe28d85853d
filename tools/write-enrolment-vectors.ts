import { writeFileSync } from 'node:fs'
import { vectors } from './enrolment-vectors/vectors.ts'

// npx node tools/write-enrolment-vectors.ts && npx biome format --write vectors/enrolment.json
/** In ASCII. */
const text = JSON.stringify(vectors, null, 2).replace(
  /[\u0080-\uffff]/g,
  (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
)
writeFileSync(`${import.meta.dirname}/../vectors/enrolment.json`, `${text}\n`)
