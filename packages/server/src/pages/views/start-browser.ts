/**
 * The script of the sample on the start page: signs a request and checks it, and revokes the sample. What signs and checks is loaded with
 * the first request. The declarations replace the DOM types, which the service is compiled without.
 */
interface Element {
  readonly dataset: Record<string, string | undefined>
  textContent: string | null
  hidden: boolean
  querySelector(selector: string): Element | null
  querySelectorAll(selector: string): Iterable<Element>
  closest(selector: string): Element | null
  addEventListener(type: 'click', listener: (event: { readonly target: Element }) => void): void
}
interface Document {
  querySelector(selector: string): Element | null
}

const { document } = globalThis as unknown as { document: Document }
const sample = document.querySelector('[data-sample]') as Element
/** Made once, so that the agent keeps its key. */
let agent: Promise<import('./sample-agent.ts').SampleAgent> | null = null
let status: 'active' | 'revoked' = 'active'

sample.addEventListener('click', ({ target }) => {
  const { action } = target.closest('[data-action]')?.dataset ?? {}
  if (action === 'send') void send()
  if (action === 'revoke') void show('revoked')
  if (action === 'reset') void show('active')
})

/** Shows the sample with another status, and how it answers now if a request was sent before. */
async function show(next: typeof status): Promise<void> {
  status = next
  for (const each of sample.querySelectorAll('[data-status]')) {
    each.hidden = each.dataset.status !== status
  }
  if (agent !== null) await send()
}

async function send(): Promise<void> {
  const { shortName = '', idHeader = '', issuer = '' } = sample.dataset
  agent ??= import('./sample-agent.ts').then(({ createSampleAgent }) =>
    createSampleAgent({ shortName, idHeader, issuer }),
  )
  try {
    const { request, verdict, reason } = await (await agent).send(status)
    shown('request').textContent = request
    shown('reason').textContent = reason
    for (const each of sample.querySelectorAll('[data-verdict]')) {
      each.hidden = each.dataset.verdict !== verdict
    }
    shown('answer').hidden = false
  } catch {
    // Old browsers have no Ed25519, and others have it on https and loopback alone.
    shown('unable').hidden = false
  }
}

function shown(part: string): Element {
  return sample.querySelector(`[data-part=${part}]`) as Element
}
