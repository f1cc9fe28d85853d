import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join, normalize } from 'node:path'
import { startSite } from '../../../../test/support/impostor.ts'
import type { Cleanup } from '../../../../test/support/service.ts'

const IMPORTS = {
  '@countersign/sdk': '/node_modules/@countersign/sdk/lib/index.js',
  '@noble/curves/': '/node_modules/@noble/curves/',
  '@noble/hashes/': '/node_modules/@noble/hashes/',
}
const PAGE = `<!doctype html><title>A page</title>
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`

/**
 * Serves a page that can import the SDK as it is published, on localhost: WebCrypto needs that, or https.
 * @param dir a project that has installed it; its modules are served too
 * @param answer handles a request instead, if it returns true
 */
export function startPackagePage(
  t: Cleanup,
  dir: string,
  answer: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): Promise<string> {
  return startSite(t, (request, response) => {
    if (answer(request, response)) return
    const path = normalize((request.url ?? '/').split('?', 1).join(''))
    const file = join(dir, path)
    if (/\.m?js$/.test(path) && existsSync(file))
      response.setHeader('content-type', 'text/javascript').end(readFileSync(file))
    else response.setHeader('content-type', 'text/html').end(path === '/' ? PAGE : '')
  })
}
