import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Plugin } from 'vite'

const PREFIX = '\0json-module:'

/**
 * Reads imported JSON with JSON.parse. Vite's own plugin refuses the lone surrogates of vectors/, which are valid JSON.
 * The code parses a text, so that what a command does not use costs no time at its start.
 */
export function jsonModules(): Plugin {
  return {
    name: 'json-modules',
    enforce: 'pre',
    resolveId(source, importer) {
      // Another extension, so that no other plugin takes it for JSON.
      if (!source.endsWith('.json') || !source.startsWith('.') || importer === undefined)
        return null
      return `${PREFIX}${resolve(dirname(importer), source)}.js`
    },
    load(id) {
      if (!id.startsWith(PREFIX)) return null
      const text = readFileSync(id.slice(PREFIX.length, -'.js'.length), 'utf8')
      return `export default JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(text)))})`
    },
  }
}
