import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { defineConfig, type Plugin } from 'vite'
import { declareTypes } from '../../tools/published/declare-types.ts'

/**
 * The published form: dist/ is a package of its own, to be packed and published from there. It contains the used parts of
 * @countersign/protocol. Each source file stays a file of its own, so that bundlers include only what is imported.
 */
const HERE = import.meta.dirname
const ENTRIES = ['index', 'node']

export default defineConfig({
  publicDir: false,
  plugins: [evaluatedSchemas(), publishable()],
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

const SCHEMAS = join(HERE, 'src/responses/schemas.ts')

/**
 * Publishes the wire schemas as plain JSON Schemas, so that the package contains neither typebox nor descriptions.
 * Reading them with typebox's `Value` would make it three times as large.
 */
function evaluatedSchemas(): Plugin {
  return {
    name: 'evaluated-schemas',
    async load(id) {
      if (id !== SCHEMAS) return null
      const schemas: Record<string, object> = await import(SCHEMAS)
      return Object.entries(schemas)
        .map(([name, schema]) => {
          // As a string, since bundlers would print an object literal over many lines.
          const text = JSON.stringify(JSON.stringify(schema, onlyChecked))
          return `export const ${name} = /* @__PURE__ */ JSON.parse(${text})\n`
        })
        .join('')
    },
  }
}

/** Drops `description`, a text in every schema, and each `required` with every property, the readers' default. */
function onlyChecked(this: { properties?: object }, key: string, value: unknown): unknown {
  const isText = key === 'description' && typeof value === 'string'
  const isDefault =
    key === 'required' &&
    Array.isArray(value) &&
    value.length === Object.keys(this.properties ?? {}).length
  return isText || isDefault ? undefined : value
}

/** Adds the types, the manifest, the README and the licence. */
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

/** The workspace's manifest, with the built files as exports and without the fields that only the workspace needs. */
function manifest() {
  const text = readFileSync(join(HERE, 'package.json'), 'utf8')
  const { private: _, devDependencies: __, exports: sources, ...rest } = JSON.parse(text)
  const exports = Object.entries<string>(sources).map(([name, source]) => {
    const file = source.replace(/^\.\/src\/(.*)\.ts$/, './lib/$1')
    return [name, { types: `${file}.d.ts`, default: `${file}.js` }]
  })
  return { ...rest, exports: Object.fromEntries(exports), files: ['lib'] }
}
