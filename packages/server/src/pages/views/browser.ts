import { enableCopying } from '@countersign/ui'

/** All that the public pages do with a script. The service itself is compiled without the names of a browser. */
const { document, navigator } = globalThis as unknown as {
  document: Parameters<typeof enableCopying>[0]
  navigator: { clipboard: Parameters<typeof enableCopying>[1] }
}

enableCopying(document, navigator.clipboard)
