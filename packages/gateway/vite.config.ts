import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { defineConfig, type Plugin } from 'vite'
import { declareTypes } from '../../tools/published/declare-types.ts'

/**
 * Builds the published package in dist/. It bundles the parts of @countersign/protocol that are used, depends on
 * @countersign/sdk, and imports only types from frameworks.
 */
const HERE = import.meta.dirname
const ENTRIES = ['index', 'express', 'fastify', 'fetch', 'hono']
const COMMAND = 'forward-auth/main'

export default defineConfig({
  publicDir: false,
  plugins: [publishable()],
  build: {
    outDir: 'dist/lib',
    emptyOutDir: true,
    minify: false,
    target: 'es2022',
    reportCompressedSize: false,
    lib: { entry: [...ENTRIES, COMMAND].map((name) => `src/${name}.ts`), formats: ['es'] },
    rolldownOptions: {
      external: [/^node:/, '@countersign/sdk', 'fastify', 'hono'],
      treeshake: { moduleSideEffects: false },
      output: {
        preserveModules: true,
        preserveModulesRoot: join(HERE, 'src'),
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
      },
    },
  },
})

/** Adds types, command, manifest, README and licence to the built files. */
function publishable(): Plugin {
  let lib = ''
  return {
    name: 'publishable',
    configResolved({ root, build }) {
      lib = resolve(root, build.outDir)
    },
    closeBundle() {
      const dist = dirname(lib)
      const installed = ['@countersign/sdk', 'fastify', 'hono']
      declareTypes({ name: 'gateway', entries: ENTRIES, outDir: lib, installed })
      cpSync(join(HERE, 'bin'), join(dist, 'bin'), { recursive: true })
      writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
      copyFileSync(join(HERE, 'README.md'), join(dist, 'README.md'))
      copyFileSync(join(HERE, '../../LICENSE'), join(dist, 'LICENSE'))
    },
  }
}

/** The workspace's package.json without the private fields, and with built files instead of sources in `exports`. */
function manifest() {
  const text = readFileSync(join(HERE, 'package.json'), 'utf8')
  const { private: _, devDependencies: __, exports: sources, ...rest } = JSON.parse(text)
  const exports = Object.entries<string>(sources).map(([name, source]) => {
    const file = source.replace(/^\.\/src\/(.*)\.ts$/, './lib/$1')
    return [name, { types: `${file}.d.ts`, default: `${file}.js` }]
  })
  return { ...rest, exports: Object.fromEntries(exports), files: ['bin', 'lib'] }
}
