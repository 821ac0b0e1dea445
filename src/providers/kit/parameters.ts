import type { ParameterRule } from '../../core/parameters.ts'

/** The rule of `last_image`, for models that accept a last frame beside the first one. */
export const lastImage: ParameterRule = {
  type: 'string',
  needsImage: true,
  format: 'https',
  maxLength: 2_048,
  description: 'URL of the last frame; needs an image as the first frame',
}
