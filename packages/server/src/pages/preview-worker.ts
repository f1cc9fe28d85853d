import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import satori, { type Font } from 'satori'
import sharp from 'sharp'
import { importBuilt } from './load-pages.ts'
import type { PreviewData } from './views/preview.tsx'
import { FONT_SUBSETS, PREVIEW_HEIGHT, PREVIEW_WIDTH } from './views/preview-styles.ts'
import type { StartPreviewData } from './views/start-preview.tsx'

/** Worker thread that renders one preview at a time. On the main thread an image would block about a thousand lookups. */

export interface PreviewJob {
  readonly id: number
  readonly data: PreviewData | StartPreviewData
}

export type PreviewResult =
  | { readonly id: number; readonly png: Uint8Array }
  | { readonly id: number; readonly failure: string }

// Pictures are distinct and rendered one at a time: a cache and more threads would only hold memory outside the heap.
sharp.cache(false)
sharp.concurrency(1)

const WEIGHTS = [400, 700] as const

const pages = await importBuilt(workerData as string)
const fonts = WEIGHTS.flatMap((weight) => FONT_SUBSETS.map((subset) => fontOf(subset, weight)))

let last = Promise.resolve()
parentPort?.on('message', (job: PreviewJob) => {
  last = last.then(async () => parentPort?.postMessage(await resultOf(job)))
})

async function resultOf({ id, data }: PreviewJob): Promise<PreviewResult> {
  try {
    const picture = 'did' in data ? pages.previewCard(data) : pages.startPreview(data)
    const svg = await satori(picture, {
      width: PREVIEW_WIDTH,
      height: PREVIEW_HEIGHT,
      fonts,
    })
    return { id, png: await sharp(Buffer.from(svg)).png({ compressionLevel: 9 }).toBuffer() }
  } catch (error) {
    return { id, failure: String(error) }
  }
}

function fontOf(subset: string, weight: 400 | 700): Font {
  const file = import.meta.resolve(`@fontsource/inter/files/inter-${subset}-${weight}-normal.woff`)
  return { name: subset, weight, style: 'normal', data: readFileSync(fileURLToPath(file)) }
}
