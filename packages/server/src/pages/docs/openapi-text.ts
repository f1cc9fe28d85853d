import type { Library } from './library.ts'

/** /openapi.json: without the error responses that no operation of this deployment has, the others in order of use. */
export function openApiText(library: Library): string {
  const text = library.text(`${library.api}/openapi.json`)
  const firstUse = (name: string) => text.indexOf(`"#/components/responses/${name}"`)
  const document = JSON.parse(text)
  const { components } = document
  const responses = Object.entries(components.responses)
    .filter(([name]) => firstUse(name) !== -1)
    .sort(([a], [b]) => firstUse(a) - firstUse(b))
  components.responses = Object.fromEntries(responses)
  return JSON.stringify(document)
}
