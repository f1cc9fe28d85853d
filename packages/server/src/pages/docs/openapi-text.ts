import type { Library } from './library.ts'

/** /openapi.json: without the error responses that no operation of this deployment has, the others in order of use. */
export function openApiText(library: Library): string {
  const text = library.text(`${library.api}/openapi.json`)
  const document = JSON.parse(text)
  const { responses } = document.components
  const used = text.matchAll(/"#\/components\/responses\/(\w+)"/g)
  // A set keeps the order of first use.
  const names = [...new Set(Array.from(used, ([, name = '']) => name))]
  document.components.responses = Object.fromEntries(names.map((name) => [name, responses[name]]))
  return JSON.stringify(document)
}
