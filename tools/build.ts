import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

/**
 * Builds the packages that need it if their output is missing or older than their sources. Runs before `npm start`
 * and `npm test`.
 */

const ROOT = join(import.meta.dirname, '..')

interface Target {
  /** The directory of its vite.config.ts and dist/. */
  readonly dir: string
  readonly made: readonly string[]
}

const SHARED = [
  'package-lock.json',
  'packages/ui/**/*.{ts,tsx,css,json}',
  'packages/protocol/src/**/*.ts',
]

const TARGETS: readonly Target[] = [
  {
    dir: 'packages/dashboard',
    made: ['packages/dashboard/{src,public}/**/*', 'packages/dashboard/*.{html,ts,json}'],
  },
  {
    dir: 'packages/server',
    made: [
      'packages/server/src/pages/views/**/*',
      'packages/server/src/agents/wording.ts',
      'packages/server/vite.config.ts',
    ],
  },
]

const DOCS = [
  'package-lock.json',
  'docs/*.{md,json}',
  '*.md',
  'packages/*/README.md',
  'tools/docs/*.ts',
  'packages/server/src/pages/docs/{book,names}.ts',
]

for (const target of TARGETS) build(target)
await buildDocs()

/** The documentation that the service serves at /docs, compiled from Markdown. */
async function buildDocs(): Promise<void> {
  const dist = join(ROOT, 'packages/server/dist/docs')
  const stamp = join(dist, '.made-of')
  const digest = digestOf(DOCS)
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  const { compileBook } = await import('./docs/compile-book.ts')
  mkdirSync(dist, { recursive: true })
  writeFileSync(join(dist, 'book.json'), JSON.stringify(compileBook(ROOT)))
  writeFileSync(stamp, digest)
}

function build({ dir, made }: Target): void {
  if (!existsSync(join(ROOT, dir, 'vite.config.ts'))) return
  const stamp = join(ROOT, dir, 'dist/.made-of')
  const digest = digestOf([...SHARED, ...made])
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  const { status } = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: join(ROOT, dir),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) process.exit(1)
  const dist = join(ROOT, dir, 'dist')
  mkdirSync(dist, { recursive: true })
  compress(dist)
  writeFileSync(stamp, digest)
}

/** Compresses the browser files once, because the service sends `.br` and `.gz` files as they are. */
function compress(dist: string): void {
  for (const file of globSync('**/assets/**/*.{js,css,svg,wasm}', { cwd: dist })) {
    const bytes = readFileSync(join(dist, file))
    writeFileSync(join(dist, `${file}.br`), brotliCompressSync(bytes))
    writeFileSync(join(dist, `${file}.gz`), gzipSync(bytes, { level: 9 }))
  }
}

function digestOf(patterns: readonly string[]): string {
  const hash = createHash('sha256')
  const files = globSync([...patterns], { cwd: ROOT, withFileTypes: true })
    .filter((each) => each.isFile() && !each.parentPath.includes('/node_modules'))
    .map((each) => join(each.parentPath, each.name))
  for (const file of files.sort()) hash.update(`${file}\0`).update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}
