import { Failure } from '../../api/failure.ts'
import type { Extent } from './crop.ts'

export const PICTURE_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/webp']
const MOST_BYTES = 5 * 1024 * 1024
const MOST_PIXELS = 40_000_000

/** A picture that someone has chosen, and that can be shown. */
export interface Picture extends Extent {
  readonly file: File
  /** Of the browser's own copy; to be given back by `URL.revokeObjectURL`. */
  readonly url: string
  readonly image: HTMLImageElement
}

/**
 * Looks at a file as the service will, so that nobody waits for an upload that comes to nothing.
 * @returns with its size as it is displayed, turned as its camera was
 * @throws Failure
 */
export async function readPicture(file: File): Promise<Picture> {
  if (!PICTURE_TYPES.includes(file.type)) {
    throw new Failure('This is no PNG, JPEG or WebP picture. Save it as one of them first.')
  }
  if (file.size > MOST_BYTES) {
    const size = (file.size / 1024 / 1024).toLocaleString('en', { maximumFractionDigits: 1 })
    throw new Failure(`The picture has ${size} MiB, and 5 MiB are the most. Make it smaller first.`)
  }
  const url = URL.createObjectURL(file)
  try {
    const image = await load(url)
    const { naturalWidth: width, naturalHeight: height } = image
    if (width * height > MOST_PIXELS) {
      throw new Failure('The picture has more than 40 million pixels. Make it smaller first.')
    }
    return { file, url, image, width, height }
  } catch (error) {
    URL.revokeObjectURL(url)
    throw error
  }
}

async function load(url: string): Promise<HTMLImageElement> {
  const image = new Image()
  image.src = url
  await image.decode().catch(() => {
    throw new Failure('The file cannot be read as a picture. It may be damaged, or something else.')
  })
  return image
}
