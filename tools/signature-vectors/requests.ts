import {
  AGENT,
  digestOf,
  type Header,
  type Key,
  keys,
  type Received,
  received,
  signing,
} from './signing.ts'

export const get = signing({})
export const body = '{"item":1}'
export const json: Header = ['Content-Type', 'application/json']
export const digested = (text: string): Header => ['Content-Digest', digestOf(text)]
export const post = signing({ method: 'POST', fields: [digested(body), json] })
const [agentHeader, inputHeader, signatureHeader] = get.headers as [Header, Header, Header]

export { agentHeader, inputHeader, signatureHeader }
export const withHeaders = (...headers: Header[]) =>
  received(get, { headers: [...get.headers, ...headers] })
export const replacing = (...headers: Header[]) => received(get, { headers })
export const id: Header = ['ServiceID', keys.agent.did ?? '']
export const otherTag = '("@method");created=1;keyid="k";tag="other"'
export const at = (path: string, query?: string) =>
  signing({ path, ...(query !== undefined && { query }) })
export const legacy = signing({
  agent: '"https://agent.example"',
  agentComponent: ['"signature-agent"', '"https://agent.example"'],
})
export const origin = signing({
  agent: 'sig1="https://agent.example"',
  agentComponent: [AGENT, '"https://agent.example"'],
})
export const ucp = signing({
  agent: `sig1="${keys.agent.signatureAgent}";type=jwks_uri`,
  agentComponent: [AGENT, `"${keys.agent.signatureAgent}";type=jwks_uri`],
})
export const minimal = (method: string, agent: Key | null) =>
  signing({
    method,
    components: [
      ['"@authority"', 'shop.example'],
      [AGENT, agent === null ? '"https://agent.example"' : `"${agent.signatureAgent}"`],
    ],
    ...(agent === null && { agent: 'sig1="https://agent.example"' }),
  })

export function withBase(signed: ReturnType<typeof signing>) {
  return { request: received(signed), base: signed.base }
}

export function withoutBody({ body: _, ...rest }: Received): Received {
  return rest
}

export function threeComponents(): (readonly [string, string])[] {
  return [
    ['"@method"', 'GET'],
    ['"@authority"', 'shop.example'],
    ['"@path"', '/orders'],
  ]
}

export function agentOf(key: Key): readonly [string, string] {
  return [AGENT, `"${key.signatureAgent}"`]
}
