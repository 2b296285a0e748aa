#include "mlp.h"

#include <algorithm>
#include <cmath>

#include "network.h"

namespace {

class Mlp final : public Network {
public:
    explicit Mlp(const NetworkDescription& d) {
        int logits = 0;
        for (int n : d.action_sizes) logits += n;
        outputs_ = logits + 1;
        layout_ = {};
        layout_.layers = (int)d.hidden.size() + 1;
        layout_.activation = d.activation;
        layout_.width[0] = d.features;
        for (size_t i = 0; i < d.hidden.size(); ++i) {
            layout_.width[i + 1] = d.hidden[i];
            layout_.widest = std::max(layout_.widest, d.hidden[i]);
        }
        layout_.width[layout_.layers] = outputs_;
        for (int i = 0; i < layout_.layers; ++i) {
            const int inputs = layout_.width[i], outputs = layout_.width[i + 1];
            layout_.weight[i] = count_;
            if (i + 1 < layout_.layers) {
                const std::string name = "hidden." + std::to_string(i);
                add(name + ".weight", {outputs, inputs});
                layout_.bias[i] = count_;
                add(name + ".bias", {outputs});
            } else {
                // Actor and critic stand together, so that one product computes both.
                add("actor.weight", {logits, inputs});
                add("critic.weight", {1, inputs});
                layout_.bias[i] = count_;
                add("actor.bias", {logits});
                add("critic.bias", {1});
            }
        }
        layout_.parameters = count_;
    }

    void initialize(float* params, uint64_t seed) const override {
        std::fill(params, params + count_, 0.0f);
        uint32_t stage = 0;
        for (const Parameter& p : parameters_) {
            if (p.shape.size() != 2) continue;
            const float gain = p.name == "actor.weight" ? 0.01f : (p.name == "critic.weight" ? 1.0f : std::sqrt(2.0f));
            initialize_orthogonal(params + p.offset, (int)p.shape[0], (int)p.shape[1], gain, seed, stage++);
        }
    }

    size_t step_scratch(int lanes) const override { return (size_t)2 * layout_.widest * lanes; }

    void step(const float* params, const float* x, int lanes, float*, float* out, float* scratch) const override {
        mlp_step(layout_, params, x, lanes, out, scratch);
    }

    // The tape: each hidden layer's output (steps, width, lanes), and for gelu each layer's input z after it.
    size_t tape_size(int steps, int lanes) const override {
        size_t floats = 0;
        for (int i = 1; i < layout_.layers; ++i) floats += (size_t)layout_.width[i] * steps * lanes;
        return layout_.activation == ACTIVATION_GELU ? 2 * floats : floats;
    }

    void forward(const float* params, const float* x, int steps, int lanes, float* out, float* tape) const override {
        const float* from = x;
        for (int layer = 0; layer < layout_.layers; ++layer) {
            const size_t inputs = (size_t)layout_.width[layer] * lanes,
                         outputs = (size_t)layout_.width[layer + 1] * lanes;
            float* to = layer + 1 == layout_.layers ? out : tape;
            float* kept = layout_.activation == ACTIVATION_GELU ? tape + outputs * steps : nullptr;
            for (int t = 0; t < steps; ++t)
                mlp_layer(layout_, layer, params, from + t * inputs, lanes, to + t * outputs,
                          kept ? kept + t * outputs : nullptr);
            from = to;
            tape += (kept ? 2 : 1) * outputs * steps;
        }
    }

    void backward(const float* params, const float* x, int steps, int lanes, const float* out_gradient, float* tape,
                  float* gradient) const override {
        float* output[MLP_MAX_HIDDEN] =
            {};  // of each hidden layer: its activations, then their gradient in the same place
        const bool gelu = layout_.activation == ACTIVATION_GELU;
        for (int i = 0; i + 1 < layout_.layers; ++i) {
            output[i] = tape;
            tape += (size_t)layout_.width[i + 1] * lanes * steps * (gelu ? 2 : 1);
        }
        const float* dy = out_gradient;
        for (int layer = layout_.layers - 1; layer >= 0; --layer) {
            const int inputs = layout_.width[layer], outputs = layout_.width[layer + 1];
            const size_t in_step = (size_t)inputs * lanes, out_step = (size_t)outputs * lanes;
            const float* from = layer == 0 ? x : output[layer - 1];
            product_gradient(dy, from, steps, outputs, inputs, lanes, out_step, in_step,
                             gradient + layout_.weight[layer]);
            bias_gradient(dy, steps, outputs, lanes, out_step, gradient + layout_.bias[layer]);
            if (layer == 0) break;
            float* into = output[layer - 1];
            const float* kept = gelu ? into + in_step * steps : into;
            for (int t = 0; t < steps; ++t)
                input_gradient(params, layer, dy + t * out_step, lanes, kept + t * in_step, into + t * in_step);
            dy = into;
        }
    }

private:
    void add(const std::string& name, std::vector<int64_t> shape) {
        parameters_.push_back({name, std::move(shape), count_});
        count_ += parameters_.back().count();
    }

    // into = (W^T dy) * slope(kept), where into may be kept.
    void input_gradient(const float* params, int layer, const float* dy, int lanes, const float* kept,
                        float* into) const {
        const int inputs = layout_.width[layer], outputs = layout_.width[layer + 1];
        auto run = [&](auto slope) {
            product(params + layout_.weight[layer], 1, inputs, inputs, outputs, dy, lanes,
                    [=](int row, int lane, vf sum) {
                        const size_t at = (size_t)row * lanes + lane;
                        store(into + at, sum * slope(load(kept + at)));
                    });
        };
        if (layout_.activation == ACTIVATION_TANH)
            run([](vf kept_value) { return activation_slope<ACTIVATION_TANH>(kept_value); });
        else if (layout_.activation == ACTIVATION_RELU)
            run([](vf kept_value) { return activation_slope<ACTIVATION_RELU>(kept_value); });
        else
            run([](vf kept_value) { return activation_slope<ACTIVATION_GELU>(kept_value); });
    }

    MlpLayout layout_;
};

}  // namespace

std::unique_ptr<Network> make_mlp(const NetworkDescription& description) { return std::make_unique<Mlp>(description); }
