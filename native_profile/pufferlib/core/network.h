// What the trainer needs of a policy network. A network is added by a file that implements this interface and one line in
// make_network (network.cpp). Outputs are (outputs, lanes): the logits of every action head, then one value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// A named tensor in the flat parameters, stored row by row as PyTorch stores it (weights: outputs, inputs).
struct Parameter {
    std::string name;
    std::vector<int64_t> shape;
    size_t offset;
    size_t count() const {
        size_t n = 1;
        for (int64_t d : shape) n *= (size_t)d;
        return n;
    }
};

struct NetworkDescription {
    std::string kind;
    int features = 0;
    std::vector<int> action_sizes;
    std::vector<int> hidden;
    int activation = 0;
};

class Network {
public:
    virtual ~Network() = default;
    const std::vector<Parameter>& parameters() const { return parameters_; }
    size_t parameter_count() const { return count_; }
    int outputs() const { return outputs_; }

    virtual void initialize(float* params, uint64_t seed) const = 0;

    // Rollout. x (features, lanes), state (state_size(), lanes) carried over steps, out (outputs, lanes).
    virtual int state_size() const { return 0; }
    virtual size_t step_scratch(int lanes) const = 0;  // floats
    virtual void step(const float* params, const float* x, int lanes, float* state, float* out,
                      float* scratch) const = 0;

    // Learning over a slice of consecutive steps. x (steps, features, lanes); out and its gradient (steps, outputs, lanes).
    // forward leaves in `tape` what backward needs; backward adds to `gradient` (flat, as the parameters).
    virtual size_t tape_size(int steps, int lanes) const = 0;  // floats
    virtual void forward(const float* params, const float* x, int steps, int lanes, float* out, float* tape) const = 0;
    virtual void backward(const float* params, const float* x, int steps, int lanes, const float* out_gradient,
                          float* tape, float* gradient) const = 0;

protected:
    std::vector<Parameter> parameters_;
    size_t count_ = 0;
    int outputs_ = 0;
};

// Null when the kind is unknown.
std::unique_ptr<Network> make_network(const NetworkDescription& description);

std::unique_ptr<Network> make_mlp(const NetworkDescription& description);

// Fills W (rows, columns) with a random matrix of orthogonal rows or columns, times gain (A. M. Saxe, J. L. McClelland,
// S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", 2014).
void initialize_orthogonal(float* w, int rows, int columns, float gain, uint64_t seed, uint32_t stage);
