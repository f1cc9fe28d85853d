import type Sharp from 'sharp'

/** Why a picture is not taken. */
export type PictureFault =
  | 'not-a-picture'
  | 'too-many-pixels'
  | 'damaged'
  | 'outside-crop'
  | 'too-slow'

export class PictureRefused extends Error {
  override readonly name = 'PictureRefused'
  readonly fault: PictureFault

  constructor(fault: PictureFault, options?: ErrorOptions) {
    super(fault, options)
    this.fault = fault
  }
}

/** A square out of a picture, in pixels of the picture as it is displayed. */
export interface Crop {
  readonly x: number
  readonly y: number
  readonly size: number
}

const SIDE = 512
const MOST_PIXELS = 40_000_000
const QUALITY = 82
const SECONDS = 10

/** What the formats that are taken begin with, in hexadecimal. libvips tells them apart in the same way. */
const FORMATS = [
  { format: 'png', begins: /^89504e470d0a1a0a/ },
  { format: 'jpeg', begins: /^ffd8ff/ },
  { format: 'webp', begins: /^52494646.{8}57454250/ },
] as const

/**
 * Makes pictures anew: what comes out holds the pixels of the picture and nothing else of the bytes that went in.
 * One at a time, on one thread, so that somebody's large picture takes nothing from those who look agents up. How many
 * may wait is bounded before they are read (`http/overload/`).
 */
export class Pictures {
  #last: Promise<unknown> = Promise.resolve()

  /**
   * @param bytes a PNG, JPEG or WebP; of one that moves, the first frame is taken
   * @returns a WebP of 512 by 512 pixels, in sRGB, upright, without metadata
   * @throws PictureRefused
   */
  square(bytes: Uint8Array, crop: Crop | null): Promise<Uint8Array> {
    const result = this.#last.then(() => squareOf(bytes, crop))
    this.#last = result.catch(() => undefined)
    return result
  }
}

/** Loads the library with the first picture: a service starts sooner without it. */
async function loadSharp(): Promise<typeof Sharp> {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  return sharp
}

async function squareOf(bytes: Uint8Array, crop: Crop | null): Promise<Uint8Array> {
  const known = formatOf(bytes)
  const sharp = await loadSharp()
  const { width, height } = await sizeOf(sharp, bytes, known)
  if (width * height > MOST_PIXELS) throw new PictureRefused('too-many-pixels')
  const picture = sharp(bytes, { failOn: 'error', limitInputPixels: MOST_PIXELS })
    .autoOrient()
    .timeout({ seconds: SECONDS })
  if (crop !== null) {
    const { x, y, size } = crop
    if (size < 1 || x + size > width || y + size > height) throw new PictureRefused('outside-crop')
    picture.extract({ left: x, top: y, width: size, height: size })
  }
  return picture
    .resize(SIDE, SIDE, { fit: 'cover' })
    .webp({ quality: QUALITY })
    .toBuffer()
    .catch((error) => {
      const fault = /timeout/.test(String(error)) ? 'too-slow' : 'damaged'
      throw new PictureRefused(fault, { cause: error })
    })
}

/** The declared type says nothing: what the bytes begin with, and what libvips makes of it, does. */
function formatOf(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('hex')
  const known = FORMATS.find(({ begins }) => begins.test(start))
  if (known === undefined) throw new PictureRefused('not-a-picture')
  return known.format
}

/** Reads the header alone. */
async function sizeOf(
  sharp: typeof Sharp,
  bytes: Uint8Array,
  format: string,
): Promise<{ width: number; height: number }> {
  const header = await sharp(bytes, { limitInputPixels: false })
    .metadata()
    .catch((error) => {
      throw new PictureRefused('damaged', { cause: error })
    })
  if (header.format !== format) throw new PictureRefused('not-a-picture')
  return header.autoOrient
}
