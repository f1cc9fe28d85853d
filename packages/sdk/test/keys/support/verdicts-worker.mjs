import { verdictsOf } from './verdicts.mjs'

export default {
  async fetch(request) {
    return new Response(await verdictsOf((await request.text()).split('\n')))
  },
}
