import { errorSchema } from '@countersign/protocol'
import { isForPrograms } from './wants-page.ts'

/** What a route's schema says of its refusals: the envelope, and for people who read pages a page of the same. */
export function refusalsAt(url: string) {
  const refusal = isForPrograms(url) ? errorSchema() : asPageToo()
  return { '4xx': refusal, '5xx': refusal }
}

function asPageToo() {
  return {
    description: 'A refusal',
    content: {
      'application/json': { schema: errorSchema() },
      'text/html': { schema: { type: 'string' } },
    },
  }
}
