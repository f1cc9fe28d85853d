import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Cleanup } from '../../../../test/support/service.ts'
import { HANDLERS, idOf } from './path-fuzz.ts'

/** What a WSGI application sees of a request. */
export interface WsgiRequest {
  readonly path: string
  /** The headers as CGI names them, such as `HTTP_ACCEPT`. */
  readonly fields: Readonly<Record<string, string>>
  readonly body: string
}

/** Starts a WSGI site that answers with a `WsgiRequest`. @returns its port */
export async function startWsgiSite(t: Cleanup): Promise<number> {
  const table = Object.fromEntries(HANDLERS.map((each) => [each.path, idOf(each)]))
  const script = join(import.meta.dirname, 'wsgi-site.py')
  const child = spawn('python3', [script, JSON.stringify(table)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  return Number(line)
}
