import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

/**
 * Builds what is missing or older than its sources: the browser pages, the documentation, the packages that are published
 * and their tarballs, which the service serves. Runs before `npm start` and `npm test`. With `PUBLISHED=1`, the
 * documentation takes the packages from npm's registry instead of from the service. `--list` (`npm run pack`) prints the
 * tarballs.
 */

const ROOT = join(import.meta.dirname, '..')
const IS_PUBLISHED = process.env.PUBLISHED === '1'

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

const PAGES: readonly Target[] = [
  {
    dir: 'packages/dashboard',
    made: ['packages/dashboard/{src,public}/**/*', 'packages/dashboard/*.{html,ts,json}'],
  },
  {
    dir: 'packages/server',
    made: [
      'packages/server/src/pages/views/**/*',
      'packages/server/src/agents/wording.ts',
      'packages/server/src/pages/check-request/*.ts',
      'packages/server/src/pages/docs/*.ts',
      'tools/docs/views/**/*',
      'packages/server/vite.config.ts',
    ],
  },
]

const PACKAGES = [
  ...SHARED,
  'tools/published/*',
  'LICENSE',
  'packages/{sdk,gateway,cli}/{src,bin}/**/*',
  'packages/{sdk,gateway,cli}/{README.md,package.json}',
  'python/{README.md,pyproject.toml}',
  'python/src/**/{*.py,py.typed}',
  'go/{*.go,go.mod,README.md}',
]

const DOCS = [
  'package-lock.json',
  'docs/*.{md,json}',
  'docs/images/*.svg',
  '*.md',
  'packages/*/README.md',
  'examples/*/*',
  'examples/*/{app,src}/**/*',
  'tools/{docs,openapi}/**/*.{ts,tsx,json}',
  'packages/server/dist/.made-of',
  'packages/{server,protocol}/src/**/*.ts',
]

const PROGRAM = [
  'package-lock.json',
  'packages/{server,protocol,sdk,gateway}/package.json',
  'packages/{server,protocol,sdk,gateway}/src/**/*.{ts,json}',
  'tools/build-program.ts',
]

await Promise.all([...PAGES.map(buildTarget), buildPublished(), buildService()])
await buildDocumentation()
if (process.argv.includes('--list')) listTarballs()

/** The documentation that the service serves at /docs, from Markdown and from the routes of the service. */
async function buildDocumentation(): Promise<void> {
  const dist = join(ROOT, 'packages/server/dist/docs')
  const stamp = join(dist, '.made-of')
  const digest = digestOf(DOCS)
  if (readStamp(stamp) === digest) return
  // Before React is loaded: its build for development is slow.
  process.env.NODE_ENV = 'production'
  const { buildDocs } = await import('./docs/build-docs.ts')
  await buildDocs(ROOT, dist)
  writeFileSync(stamp, digest)
}

/** The published packages, and their tarballs, which the service serves at /packages. */
async function buildPublished(): Promise<void> {
  const dist = join(ROOT, 'packages/server/dist/packages')
  const stamp = join(dist, '.made-of')
  const digest = digestOf(PACKAGES)
  if (readStamp(stamp) !== digest) {
    const { buildPackages } = await import('./published/build-packages.ts')
    const { packPackages } = await import('./published/pack-packages.ts')
    await buildPackages()
    await packPackages(dist)
    writeFileSync(stamp, digest)
  }
  writeFileSync(join(dist, 'published.json'), `${IS_PUBLISHED}\n`)
}

/** The service in a few files, which start in two thirds of the time. */
async function buildService(): Promise<void> {
  const server = join(ROOT, 'packages/server')
  const stamp = join(server, 'dist/program/.made-of')
  const digest = digestOf(PROGRAM)
  if (readStamp(stamp) === digest) return
  const { buildProgram } = await import('./build-program.ts')
  await buildProgram(server)
  writeFileSync(stamp, digest)
}

/** Prints the tarballs with their sizes in bytes and their SHA-512, in hexadecimal. */
function listTarballs(): void {
  const dist = 'packages/server/dist/packages'
  const { packages } = JSON.parse(readFileSync(join(ROOT, dist, 'index.json'), 'utf8'))
  for (const { file, size, sha512 } of packages) console.log(`${dist}/${file}  ${size}  ${sha512}`)
}

async function buildTarget({ dir, made }: Target): Promise<void> {
  const dist = join(ROOT, dir, 'dist')
  const stamp = join(dist, '.made-of')
  const digest = digestOf([...SHARED, ...made])
  if (readStamp(stamp) === digest) return
  const { createBuilder } = await import('vite')
  const builder = await createBuilder({ root: join(ROOT, dir), logLevel: 'error' }, null)
  await builder.buildApp()
  compress(dist)
  writeFileSync(stamp, digest)
}

function readStamp(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
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
