import { join } from 'node:path'
import type { Plugin } from 'vite'

const SCHEMAS = join(import.meta.dirname, '../../packages/sdk/src/responses/schemas.ts')

/**
 * Publishes the wire schemas as plain JSON Schemas, so that a package contains neither typebox nor descriptions.
 * Reading them with typebox's `Value` would make it three times as large.
 */
export function evaluatedSchemas(): Plugin {
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
