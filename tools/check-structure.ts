import { resolve } from 'node:path'
import { checkStructure } from './structure/check.ts'

// node tools/check-structure.ts [root]: the rules are in structure/rules.ts.
const root = resolve(process.argv[2] ?? `${import.meta.dirname}/..`)
const { files, imports, breaches } = checkStructure(root)
for (const { path, line, wrong, mend } of breaches) {
  console.log(`${path}:${line}  ${wrong}  ${mend}`)
}
if (breaches.length > 0) process.exitCode = 1
else {
  console.log(
    `structure: ${files} files and ${imports} imports follow the rules on layers, sizes, file names and doc comments`,
  )
}
