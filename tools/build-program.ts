import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'vite'

/** What `countersignd` runs in processes and threads of its own, besides itself. */
const PROGRAMS = {
  main: 'src/main.ts',
  'worker-main': 'src/service/cluster/worker-main.ts',
  'check-thread': 'src/database/sqlite/check-thread.ts',
  'page-thread': 'src/agents/read-model/page-thread.ts',
  'preview-worker': 'src/pages/preview-worker.ts',
}

/**
 * Packages that a start loads. All others stay where they are, with their dependencies: they are loaded on demand, have native code or
 * files of their own, or rely on side effects that a bundler does not see.
 */
const BUILT_IN: readonly string[] = [
  '@fastify/ajv-compiler',
  '@fastify/cookie',
  '@fastify/fast-json-stringify-compiler',
  '@fastify/static',
  '@fastify/type-provider-typebox',
  'commander',
  'fastify',
  'find-my-way',
  'ipaddr.js',
  'kysely',
  'leven',
  'negotiator',
  'pino',
  'prom-client',
  'secure-json-parse',
  'typebox',
]

/**
 * Imported as a module, `node:http` loads `undici` for one of its exports. The names are those that the service uses: the build fails on
 * others.
 */
const HTTP_WITHOUT_UNDICI: Plugin = {
  name: 'http-without-undici',
  enforce: 'pre',
  resolveId: (id) => (id === 'node:http' ? '\0node-http' : null),
  load: (id) =>
    id === '\0node-http'
      ? `export const { createServer, METHODS, STATUS_CODES } = process.getBuiltinModule('node:http')`
      : null,
}

/**
 * Puts the service into a few files: of 1,700 modules, finding and reading takes longer than all the rest of a start.
 * @param server the directory of the package. The files go to `dist/program/`, which is as deep as the rooms in `src/` are: what these
 *   find by a relative path, they find from there
 */
export async function buildProgram(server: string): Promise<void> {
  const { dependencies } = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'))
  const external = Object.keys(dependencies).filter(
    (name) => !BUILT_IN.includes(name) && !name.startsWith('@countersign/'),
  )
  await build({
    configFile: false,
    root: server,
    publicDir: false,
    logLevel: 'error',
    plugins: [HTTP_WITHOUT_UNDICI],
    ssr: { noExternal: true, external, target: 'node' },
    build: {
      ssr: true,
      outDir: 'dist/program',
      emptyOutDir: true,
      minify: false,
      target: 'node24',
      rolldownOptions: {
        // Whatever a package says of its side effects.
        treeshake: { moduleSideEffects: true },
        input: Object.fromEntries(
          Object.entries(PROGRAMS).map(([name, file]) => [name, join(server, file)]),
        ),
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name]-[hash].js',
          // One character beyond Latin-1 doubles the memory of a file.
          charset: 'ascii',
          comments: { legal: true, annotation: false, jsdoc: false },
        },
      },
    },
  })
}
