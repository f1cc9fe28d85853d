import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { defineConfig, type Plugin } from 'vite'
import { declareTypes } from '../../tools/published/declare-types.ts'

/**
 * The published form: dist/ is a package of its own, to be packed and published from there. What is used of
 * @countersign/protocol is built in; every file stays a file, so that bundlers take only what is imported.
 */
const HERE = import.meta.dirname
const ENTRIES = ['index', 'node']

export default defineConfig({
  publicDir: false,
  plugins: [publishable()],
  build: {
    outDir: 'dist/lib',
    emptyOutDir: true,
    minify: false,
    target: 'es2022',
    reportCompressedSize: false,
    lib: { entry: ENTRIES.map((name) => `src/${name}.ts`), formats: ['es'] },
    rolldownOptions: {
      external: [/^node:/, /^@noble\//],
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

/** Adds what makes the files a package: types, manifest, README and licence. */
function publishable(): Plugin {
  let lib = ''
  return {
    name: 'publishable',
    configResolved({ root, build }) {
      lib = resolve(root, build.outDir)
    },
    closeBundle() {
      const dist = dirname(lib)
      declareTypes({ name: 'sdk', entries: ENTRIES, outDir: lib })
      writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
      copyFileSync(join(HERE, 'README.md'), join(dist, 'README.md'))
      copyFileSync(join(HERE, '../../LICENSE'), join(dist, 'LICENSE'))
    },
  }
}

/** The workspace's manifest without what is for the workspace alone, and with what was built in the place of the source. */
function manifest() {
  const text = readFileSync(join(HERE, 'package.json'), 'utf8')
  const { private: _, devDependencies: __, exports: sources, ...rest } = JSON.parse(text)
  const exports = Object.entries<string>(sources).map(([name, source]) => {
    const file = source.replace(/^\.\/src\/(.*)\.ts$/, './lib/$1')
    return [name, { types: `${file}.d.ts`, default: `${file}.js` }]
  })
  return { ...rest, exports: Object.fromEntries(exports), files: ['lib'] }
}
