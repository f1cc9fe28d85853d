import { enableCopying } from '@countersign/ui'

/** The only script of the public pages. The declarations replace the DOM types, which the service is compiled without. */
const { document, navigator } = globalThis as unknown as {
  document: Parameters<typeof enableCopying>[0]
  navigator: { clipboard: Parameters<typeof enableCopying>[1] }
}

enableCopying(document, navigator.clipboard)
