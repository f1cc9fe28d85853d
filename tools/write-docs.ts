import { readFileSync, writeFileSync } from 'node:fs'
import { GENERATED } from './docs/generated.ts'

// npx node tools/write-docs.ts: updates the generated parts of docs/.
const root = `${import.meta.dirname}/..`
for (const { file, write } of GENERATED) {
  const path = `${root}/${file}`
  writeFileSync(path, write(root, readFileSync(path, 'utf8')))
}
