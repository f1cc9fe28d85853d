import type { ServerResponse } from 'node:http'
import { startSite } from '../../../../test/support/impostor.ts'
import { logInfo } from '../../../../test/support/log-client.ts'
import type { Cleanup, TestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'

/** What is answered in place of a proof. */
export type InsteadOfProof = (response: ServerResponse) => unknown

/** A proxy in front of the service, which counts the questions for proofs and can answer them otherwise. */
export interface LogFront {
  readonly url: string
  /** The agents whose proofs were asked for. */
  readonly proofs: readonly string[]
  /** Null: the proof of the service. */
  instead: InsteadOfProof | null
}

export async function startLogFront(
  t: Cleanup,
  service: Pick<TestService, 'url'>,
): Promise<LogFront> {
  const proofs: string[] = []
  const front = { url: '', proofs, instead: null as InsteadOfProof | null }
  front.url = await startSite(t, async (request, response) => {
    const path = String(request.url)
    if (path.startsWith('/log/proof/')) {
      proofs.push(decodeURIComponent(path.slice('/log/proof/'.length)))
      if (front.instead !== null) return front.instead(response)
    }
    const { accept = '' } = request.headers
    try {
      const answer = await fetch(service.url + path, { headers: { accept } })
      const text = await answer.text()
      const type = answer.headers.get('content-type') ?? ''
      response.writeHead(answer.status, { 'content-type': type })
      response.end(text)
    } catch {
      // The service has stopped.
      response.destroy()
    }
  })
  return front
}

/** Answers with a text, as the service does with a proof. */
export function textInstead(text: string): InsteadOfProof {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(text)
  }
}

/** Answers with an error of the service. */
export function errorInstead(status: number, code: string): InsteadOfProof {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' })
    response.end(JSON.stringify({ error: { code, message: 'No.', requestId: 'req_1' } }))
  }
}

/** Waits until the current key of an agent is in the log. @returns its proof */
export async function proofOf(service: TestService, did: string): Promise<string> {
  let proof = ''
  await until(async () => {
    service.tick()
    const response = await fetch(`${service.url}/log/proof/${did}`)
    proof = await response.text()
    return response.status === 200
  })
  return proof
}

/** A tlog-policy that accepts the log of a service, without witnesses. */
export async function logPolicyOf({ url }: Pick<TestService, 'url'>): Promise<string> {
  return `log ${(await logInfo(url)).verifierKey}\nquorum none\n`
}
