import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, startServiceProcess, tempDir } from './support/service.ts'
import { shellInCheckout } from './support/shell.ts'
import { needs } from './support/tools.ts'

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

test('the quick start of the README prints the output in the README', needs('curl'), async (t) => {
  const dir = tempDir(t)
  const service = await startServiceProcess(t)
  const shell = shellInCheckout(dir, { ...service.env, COUNTERSIGN_URL: service.url })
  t.after(() => shell.close())
  // The README's DID is one that this run did not draw.
  let did = ''
  for (const { command, output } of quickStart()) {
    const here = command.replaceAll('http://localhost:8080', service.url)
    const printed = await shell.run(did === '' ? here : here.replaceAll(DID, did))
    did = printed.match(DID)?.[0] ?? did
    assert.equal(normalised(printed), normalised(output), command)
  }
})

test('docs/configuration.md lists exactly the existing settings', () => {
  const config = readFileSync(join(ROOT, 'packages/server/src/base/config.ts'), 'utf8')
  const read = [...config.matchAll(/\bread\(\s*'([A-Z_]+)'|\benv\.([A-Z_]+)/g)].map(
    (m) => m[1] ?? m[2],
  )
  const table = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')
  const named = [...table.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((m) => m[1])
  assert.deepEqual(named.toSorted(), [...new Set(read)].toSorted())
})

const DID = /svc:agent:[1-9A-HJ-NP-Za-km-z]{24}/g

interface Step {
  readonly command: string
  readonly output: string
}

function quickStart(): Step[] {
  const block = /quick start: .*?-->\n```console\n(.*?)```/s.exec(README)?.[1] as string
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const end = step.indexOf('\n')
      return { command: step.slice(0, end), output: step.slice(end + 1) }
    })
}

/** Values that differ between runs, by name. */
function normalised(text: string): string {
  return text
    .replaceAll(DID, '<did>')
    .replaceAll(/Agent [1-9A-HJ-NP-Za-km-z]{6}\b/g, 'Agent <tail>')
    .replaceAll(/[A-Za-z0-9+/]{43}=/g, '<key>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/\S+agent\.pem/g, '<file>')
    .replaceAll(/#link=[\w-]{43}$/gm, '#link=<token>')
    .replaceAll(/http:\/\/localhost:\d+/g, '<url>')
    .trimEnd()
}
