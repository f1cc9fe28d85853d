import { BrowserError } from '../../api/browser-errors.ts'
import type { Size } from './crop.ts'

export const PICTURE_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/webp']
const MAX_BYTES = 5 * 1024 * 1024
const MAX_PIXELS = 40_000_000

export interface Picture extends Size {
  readonly file: File
  /** An object URL. Release it with `URL.revokeObjectURL`. */
  readonly url: string
  readonly image: HTMLImageElement
}

/**
 * Validates a file with the service's rules, before uploading it.
 * @returns the picture with its displayed size, after rotation by its EXIF orientation
 * @throws BrowserError
 */
export async function readPicture(file: File): Promise<Picture> {
  if (!PICTURE_TYPES.includes(file.type)) {
    throw new BrowserError('Choose a PNG, JPEG or WebP picture.')
  }
  if (file.size > MAX_BYTES) {
    const size = (file.size / 1024 / 1024).toLocaleString('en', { maximumFractionDigits: 1 })
    throw new BrowserError(`The picture is ${size} MiB. Choose one of at most 5 MiB.`)
  }
  const url = URL.createObjectURL(file)
  try {
    const image = await load(url)
    const { naturalWidth: width, naturalHeight: height } = image
    if (width * height > MAX_PIXELS) {
      throw new BrowserError('The picture has more than 40 million pixels. Choose a smaller one.')
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
    throw new BrowserError('The file could not be read as a picture. It may be damaged.')
  })
  return image
}
