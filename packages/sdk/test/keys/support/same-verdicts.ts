import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Miniflare } from 'miniflare'
import { build, type Rolldown } from 'vite'
import { newPage, openBrowser } from '../../../../../test/support/browser.ts'
import { nodeOf, programOf, withoutNode } from '../../../../../test/support/programs.ts'
import { installPacked, type Packed, succeed } from '../../../../../test/support/published.ts'
import { tempDir } from '../../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../../test/support/tools.ts'
import { startPackagePage } from '../../support/package-page.ts'
import { type Corpus, signatureCorpus } from './signature-corpus.ts'

const COMMANDS: Readonly<Record<string, () => readonly [string, ...string[]]>> = {
  'Node 20': () => [nodeOf(20)],
  'Node 22': () => [nodeOf(22)],
  'Node 24': () => [nodeOf(24)],
  Bun: () => [programOf('bun')],
  Deno: () => [programOf('deno'), 'run', '--allow-all', '--no-lock'],
}
/** Requests and evaluations of this many signatures. Of 5,000, workerd closed the connection on a busy machine. */
const CHUNK = 1_000
/** 100,000 signatures take a minute on an idle core, most of it for keys that were changed, which are checked in JavaScript. */
const TIMEOUT = { timeout: 1_200_000 }
/** The tests of what every platform decides about signatures, beside libsodium. @param count of mutated signatures */
export function sameVerdicts(count: number): void {
  let packed: Packed
  let corpus: Corpus
  const ends: (() => unknown)[] = []

  before(async () => {
    corpus = signatureCorpus(count)
    packed = await installPacked({ after: (end) => ends.push(end) }, 'sdk')
    for (const file of ['verdicts.mjs', 'verdicts-command.mjs', 'verdicts-worker.mjs'])
      copyFileSync(join(import.meta.dirname, file), join(packed.dir, file))
  })
  after(() => ends.map((end) => end()))

  for (const [name, command] of Object.entries(COMMANDS)) {
    const options = { ...TIMEOUT, skip: name === 'Node 22' && withoutNode(22) }
    test(`${name} decides as libsodium does`, options, async (t) => {
      const file = join(tempDir(t), 'corpus')
      writeFileSync(file, corpus.lines.join('\n'))
      const [program, ...args] = command()
      const script = join(packed.dir, 'verdicts-command.mjs')
      assertSame(corpus, (await succeed(program, ...args, script, file)).trim())
    })
  }

  test('workerd decides as libsodium does', TIMEOUT, async (t) => {
    const worker = new Miniflare({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: await bundled(packed.dir) }],
      compatibilityDate: '2026-07-01',
    })
    t.after(() => worker.dispose())
    const url = await worker.ready
    const ask = async (body: string) => (await fetch(url, { method: 'POST', body })).text()
    assertSame(corpus, await inChunks(corpus, (lines) => ask(lines.join('\n'))))
  })

  test('Chromium decides as libsodium does', { ...TIMEOUT, ...BROWSER_MATRIX }, async (t) => {
    const { page, problems } = await newPage(await openBrowser(t))
    await page.goto(await startPackagePage(t, packed.dir))
    const found = await inChunks(corpus, (lines) =>
      page.evaluate(
        `import('/verdicts.mjs').then(({ verdictsOf }) => verdictsOf(${JSON.stringify(lines)}))`,
      ),
    )
    assertSame(corpus, found)
    assert.deepEqual(problems, [])
  })
}

/** @throws AssertionError that names the first signatures about which they differ */
function assertSame({ lines, verdicts }: Corpus, found: string): void {
  assert.equal(found.length, verdicts.length)
  assert.match(verdicts, /1.*0/)
  const differing = lines.filter((_, i) => found[i] !== verdicts[i])
  assert.deepEqual(differing.slice(0, 3), [], `${differing.length} of ${lines.length} differ`)
}

async function inChunks(
  { lines }: Corpus,
  ask: (lines: readonly string[]) => Promise<unknown>,
): Promise<string> {
  let verdicts = ''
  for (let at = 0; at < lines.length; at += CHUNK)
    verdicts += await ask(lines.slice(at, at + CHUNK))
  return verdicts
}

async function bundled(dir: string): Promise<string> {
  const built = (await build({
    root: dir,
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      lib: { entry: join(dir, 'verdicts-worker.mjs'), formats: ['es'] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })) as Rolldown.RolldownOutput[]
  const [chunk] = [built].flat()[0]?.output ?? []
  return chunk?.code ?? ''
}
