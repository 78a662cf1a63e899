"""The type of arrays of numbers; docstrings say their shapes."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
