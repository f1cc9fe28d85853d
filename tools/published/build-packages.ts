import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type InlineConfig, type Rolldown } from 'vite'
import { declareTypes } from './declare-types.ts'
import { evaluatedSchemas } from './evaluated-schemas.ts'
import { jsonModules } from './json-modules.ts'
import { PUBLISHED_PACKAGES, type PublishedPackage } from './packages.ts'
import { licencesOf } from './third-party-licences.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The file of a command that is one file, relative to dist/. */
const COMMAND_FILE = 'bin/countersign.mjs'

/** Builds the published packages: the dist/ of each is a package of its own, to be packed and published from there. */
export async function buildPackages(): Promise<void> {
  const modules = await Promise.all(PUBLISHED_PACKAGES.map(buildCode))
  await declareTypes(PUBLISHED_PACKAGES)
  for (const [i, published] of PUBLISHED_PACKAGES.entries())
    completePackage(published, modules[i] as readonly string[])
}

/** The directory of a built package. */
export function distOf({ name }: PublishedPackage): string {
  return join(ROOT, 'packages', name, 'dist')
}

/** @returns the paths of all modules that the code contains */
async function buildCode(published: PublishedPackage): Promise<readonly string[]> {
  const dist = distOf(published)
  rmSync(dist, { recursive: true, force: true })
  const config = published.isBundle ? bundleConfig(published) : modulesConfig(published)
  const built = (await build({
    configFile: false,
    root: join(ROOT, 'packages', published.name),
    publicDir: false,
    logLevel: 'error',
    ...config,
  })) as Rolldown.RolldownOutput | readonly Rolldown.RolldownOutput[]
  return [built]
    .flat()
    .flatMap(({ output }) => output)
    .flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
}

/** The command in one file, without dependencies. */
function bundleConfig({ command }: PublishedPackage): InlineConfig {
  return {
    plugins: [jsonModules()],
    ssr: { noExternal: true, target: 'node' },
    build: {
      ssr: `src/${command}.ts`,
      outDir: 'dist',
      minify: true,
      target: 'node20.19',
      rolldownOptions: {
        external: [/^node:/],
        output: {
          banner: '#!/usr/bin/env node',
          entryFileNames: COMMAND_FILE,
          codeSplitting: false,
        },
      },
    },
  }
}

/** Each source file stays a file of its own, so that bundlers include only what is imported. */
function modulesConfig(published: PublishedPackage): InlineConfig {
  const { name, entries, command, dependencies, peers } = published
  const sources = command === null ? entries : [...entries, command]
  return {
    plugins: [evaluatedSchemas()],
    build: {
      outDir: 'dist/lib',
      minify: false,
      target: 'es2022',
      lib: { entry: sources.map((each) => `src/${each}.ts`), formats: ['es'] },
      rolldownOptions: {
        external: [
          /^node:/,
          ...[...dependencies, ...peers].map((each) => new RegExp(`^${each}(/|$)`)),
        ],
        treeshake: { moduleSideEffects: false },
        output: {
          preserveModules: true,
          preserveModulesRoot: join(ROOT, 'packages', name, 'src'),
          entryFileNames: '[name].js',
          chunkFileNames: '[name].js',
        },
      },
    },
  }
}

/** Adds the executable, the manifest, the README, the licence and those of the packages that are built in. */
function completePackage(published: PublishedPackage, modules: readonly string[]): void {
  const home = join(ROOT, 'packages', published.name)
  const dist = distOf(published)
  const { command, isBundle } = published
  if (command !== null && !isBundle)
    cpSync(join(home, 'bin'), join(dist, 'bin'), { recursive: true })
  const licences = isBundle ? licencesOf(modules) : ''
  if (licences !== '') writeFileSync(join(dist, 'THIRD-PARTY-LICENSES'), licences)
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifestOf(published), null, 2)}\n`)
  copyFileSync(join(home, 'README.md'), join(dist, 'README.md'))
  copyFileSync(join(ROOT, 'LICENSE'), join(dist, 'LICENSE'))
}

/** The workspace's manifest, with built files in `exports` and without the fields that only the workspace needs. */
function manifestOf(published: PublishedPackage) {
  const { name, publishedName, entries, bundled, dependencies, isBundle } = published
  const { private: _, devDependencies: __, scripts: ___, exports, ...manifest } = readManifest(name)
  const known = Object.assign(
    {},
    ...[name, ...Object.values(bundled)].map((each) => readManifest(each).dependencies),
  )
  return {
    ...manifest,
    name: publishedName,
    ...(exports === undefined ? {} : { exports: builtExports(exports, entries) }),
    files: [
      ...(manifest.bin === undefined ? [] : ['bin']),
      isBundle ? 'THIRD-PARTY-LICENSES' : 'lib',
    ],
    dependencies: Object.fromEntries(dependencies.map((each) => [each, known[each]])),
  }
}

/** Only entries: what the workspace exports for itself alone is not built. */
function builtExports(sources: Readonly<Record<string, string>>, entries: readonly string[]) {
  const exports = Object.entries(sources).flatMap(([key, source]) => {
    const entry = source.replace(/^\.\/src\/(.*)\.ts$/, '$1')
    if (!entries.includes(entry)) return []
    return [[key, { types: `./lib/${entry}.d.ts`, default: `./lib/${entry}.js` }]]
  })
  return Object.fromEntries(exports)
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function readManifest(name: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8'))
}
