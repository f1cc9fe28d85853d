import { CodedError } from '@countersign/protocol'
import type { Library } from './library.ts'

/**
 * A proxy's configuration file out of the page of its gateway, with the names of the deployment.
 * @param file its name in `deploy/{proxy}/`
 * @throws CodedError NOT_FOUND, UNAVAILABLE if the documentation has not been built
 */
export function deployFile(library: Library, proxy: string, file: string): string {
  const { markdown } = library.page(`gateways-${proxy}`)
  const [, ...blocks] = markdown.split(`\`deploy/${proxy}/${file}\`\n\n\`\`\``)
  const [, text] = /^\w*\n(.*?\n)```(?:\n|$)/s.exec(blocks[0] ?? '') ?? []
  if (text !== undefined) return text
  throw new CodedError('NOT_FOUND', 'The documentation has no file of this name.')
}
