import { join } from 'node:path'
import { build } from 'vite'

/** What `countersignd` runs in processes and threads of its own, besides itself. */
const PROGRAMS = {
  main: 'src/main.ts',
  'worker-main': 'src/service/cluster/worker-main.ts',
  'check-thread': 'src/database/sqlite/check-thread.ts',
  'preview-worker': 'src/pages/preview-worker.ts',
}

/** Packages with native code or files of their own, and those that are loaded on demand and take many files. */
const EXTERNAL = ['@fontsource/inter', 'oidc-provider', 'pg', 'satori', 'sharp', 'sodium-native']

/**
 * Puts the service into a few files: of 1,700 modules, finding and reading takes longer than all the rest of a start.
 * @param server the directory of the package. The files go to `dist/program/`, which is as deep as the rooms in `src/` are: what these
 *   find by a relative path, they find from there
 */
export async function buildProgram(server: string): Promise<void> {
  await build({
    configFile: false,
    root: server,
    publicDir: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: EXTERNAL, target: 'node' },
    build: {
      ssr: true,
      outDir: 'dist/program',
      emptyOutDir: true,
      minify: false,
      target: 'node24',
      rolldownOptions: {
        input: Object.fromEntries(
          Object.entries(PROGRAMS).map(([name, file]) => [name, join(server, file)]),
        ),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  })
}
