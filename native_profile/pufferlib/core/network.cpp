#include "network.h"

#include <cmath>

#include "philox.h"

std::unique_ptr<Network> make_network(const NetworkDescription& description) {
    if (description.kind == "mlp") return make_mlp(description);
    return nullptr;
}

void initialize_orthogonal(float* w, int rows, int columns, float gain, uint64_t seed, uint32_t stage) {
    // Gaussian vectors, made orthonormal by the modified Gram-Schmidt process, in double precision.
    const int count = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
    std::vector<double> q((size_t)count * length);
    for (size_t i = 0; i < q.size(); ++i) {
        // Box and Muller 1958; the first number is kept off zero.
        double u = (philox_bits(seed, 2 * i, stage, RANDOM_WEIGHTS) + 1.0) / 4294967297.0;
        double v = philox_bits(seed, 2 * i + 1, stage, RANDOM_WEIGHTS) / 4294967296.0;
        q[i] = std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
    }
    for (int i = 0; i < count; ++i) {
        double* a = &q[(size_t)i * length];
        for (int j = 0; j < i; ++j) {
            const double* b = &q[(size_t)j * length];
            double dot = 0;
            for (int k = 0; k < length; ++k) dot += a[k] * b[k];
            for (int k = 0; k < length; ++k) a[k] -= dot * b[k];
        }
        double norm = 0;
        for (int k = 0; k < length; ++k) norm += a[k] * a[k];
        norm = std::sqrt(norm);
        for (int k = 0; k < length; ++k) a[k] /= norm;
    }
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c)
            w[(size_t)r * columns + c] =
                gain * (float)(rows < columns ? q[(size_t)r * length + c] : q[(size_t)c * length + r]);
}
