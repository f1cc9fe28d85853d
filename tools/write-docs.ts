import { readFileSync, writeFileSync } from 'node:fs'
import { GENERATED } from './docs/generated.ts'

// npx node tools/write-docs.ts: writes the parts of docs/ that are made of something else.
const root = `${import.meta.dirname}/..`
for (const { file, write } of GENERATED) {
  const path = `${root}/${file}`
  writeFileSync(path, write(root, readFileSync(path, 'utf8')))
}
